/** Anchors of headings as GitHub makes them; the site makes the same, so a link with an anchor is right in both. */

/** @param {string} heading its text, without Markdown */
export function slugOf(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
}

/** The anchors of the headings of a page, in their order: a repeated one gets `-1`, `-2` … */
export function anchorsOf(markdown) {
  const seen = new Map();
  return headingsOf(markdown).map((heading) => {
    const slug = slugOf(heading);
    const times = seen.get(slug) ?? 0;
    seen.set(slug, times + 1);
    return times === 0 ? slug : `${slug}-${times}`;
  });
}

function headingsOf(markdown) {
  const prose = withoutFences(markdown);
  return [...prose.matchAll(/^#{1,6} +(.+?) *#*$/gm)].map(([, heading]) => textOf(heading));
}

/** What a reader sees of a line of Markdown: links and emphasis as their text. Underscores are part of words here. */
function textOf(line) {
  return line
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*]/g, '')
    .replaceAll(/(?<![\w])_|_(?![\w])/g, '');
}

/** A page without its fenced blocks, whose lines stay empty so that line numbers are right. */
export function withoutFences(markdown) {
  let fence;
  return markdown
    .split('\n')
    .map((line) => {
      const mark = /^ *(`{3,}|~{3,})/.exec(line)?.[1];
      if (fence === undefined && mark === undefined) return line;
      if (fence === undefined) fence = mark;
      else if (mark !== undefined && mark[0] === fence[0] && mark.length >= fence.length) fence = undefined;
      return '';
    })
    .join('\n');
}
