import { checkSchema, validationResult } from 'express-validator';

/** Longest collection name, in characters (C2.2). */
const MAX_CHARACTERS = 255;

// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const FORBIDDEN = /[/\\<>:"|?*\u0000-\u001f\u007f-\u009f]/u;

/** What is wrong with a name for a new collection, as the end of a sentence; undefined when nothing is (C2.2). */
function fault(name: string): string | undefined {
  const characters = Array.from(name).length;
  if (characters < 1 || characters > MAX_CHARACTERS) {
    return `must be from 1 to ${MAX_CHARACTERS} characters, got ${characters}`;
  }
  if (FORBIDDEN.test(name)) {
    return 'must not hold control characters or any of / \\ < > : " | ? *';
  }
  if (name === '.' || name === '..') {
    return "must not be '.' or '..'";
  }
  if (name.startsWith(' ') || name.endsWith(' ')) {
    return 'must not start or end with a space';
  }
  return undefined;
}

const nameCheck = checkSchema(
  {
    collection: {
      custom: {
        options: (name: string) => {
          const found = fault(name);
          if (found !== undefined) {
            throw new Error(`Collection name ${found}`);
          }
          return true;
        },
      },
    },
  },
  ['params'],
);

/** The sentence that refuses a name for a new collection, or undefined. The name is percent-decoded already. */
export async function refuseName(collection: string): Promise<string | undefined> {
  const request = { params: { collection } };
  await nameCheck.run(request);
  const [error] = validationResult(request).array();
  return error === undefined ? undefined : String(error.msg);
}
