import { createInterface } from 'node:readline';
import { StringDecoder } from 'node:string_decoder';
import { CommandError, type Console } from './console';

/** Reads a new password: typed twice without an echo on a terminal, else the first line of standard input. */
export async function readNewPassword(console: Console): Promise<string> {
  if (console.stdin.isTTY !== true) {
    const line = await firstLine(console);
    if (line === '') {
      throw new CommandError('No password on standard input');
    }
    return line;
  }
  const password = await typed(console, 'New admin password: ');
  if ((await typed(console, 'The same again: ')) !== password) {
    throw new CommandError('The two passwords differ');
  }
  return password;
}

/** Reads the password of the admin on a terminal, without an echo. */
export function readPassword(console: Console): Promise<string> {
  return typed(console, 'Admin password: ');
}

async function firstLine({ stdin }: Console): Promise<string> {
  for await (const line of createInterface({ input: stdin, crlfDelay: Infinity })) {
    return line;
  }
  return '';
}

const ENTER = /[\r\n]/;
const BACKSPACE = /[\b\x7f]/;
const INTERRUPT = '\x03';
const END_OF_INPUT = '\x04';

/** Reads one line in raw mode, so that the terminal shows nothing of it. */
function typed({ stdin, stderr }: Console, prompt: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    // A character of several bytes may come in two pieces.
    const decoder = new StringDecoder('utf8');
    const finish = (settle: () => void): void => {
      stdin.off('data', onData);
      stdin.setRawMode?.(false);
      stdin.pause();
      stderr.write('\n');
      settle();
    };
    const onData = (chunk: Buffer | string): void => {
      const characters = Array.from(typeof chunk === 'string' ? chunk : decoder.write(chunk));
      for (const [index, character] of characters.entries()) {
        if (ENTER.test(character)) {
          finish(() => {
            // Pasted lines come in one piece: the next prompt reads the rest.
            stdin.unshift(characters.slice(index + 1).join(''));
            resolve(text);
          });
          return;
        }
        if (character === INTERRUPT || character === END_OF_INPUT) {
          finish(() => {
            reject(new CommandError('Interrupted'));
          });
          return;
        }
        text = BACKSPACE.test(character) ? text.slice(0, -1) : text + character;
      }
    };
    stderr.write(prompt);
    stdin.setRawMode?.(true);
    stdin.on('data', onData);
    stdin.resume();
  });
}
