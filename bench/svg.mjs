/** The page of a picture as SVG that is legible on light and on dark pages. */

/** Of every page, in pixels. */
export const WIDTH = 860;

/**
 * @param {{title: string, subtitle: string}} text
 * @param {number} height
 * @param {{light: string, dark: string}} rules what the content has of CSS, beside `.title` and `.note`
 * @param {string[]} content
 * @returns {string} SVG
 */
export function page({ title, subtitle }, height, rules, content) {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escape(title)}">`,
    `<style>${style(rules)}</style>`,
    `<rect class="page" width="${WIDTH}" height="${height}" rx="8"/>`,
    `<text class="title" x="24" y="30">${escape(title)}</text>`,
    `<text class="note" x="24" y="50">${escape(subtitle)}</text>`,
    ...content,
    '</svg>',
    '',
  ].join('\n');
}

function style({ light, dark }) {
  return [
    'text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;font-size:13px}',
    '.page{fill:#ffffff}.title{font-size:17px;font-weight:600;fill:#111827}.note{fill:#4b5563}',
    light,
    '@media (prefers-color-scheme:dark){',
    '.page{fill:#0d1117}.title{fill:#f0f3f6}.note{fill:#a9b4c0}',
    dark,
    '}',
  ].join('');
}

/** A coordinate with one digit behind the point. */
export function pixel(value) {
  return String(Number(value.toFixed(1)));
}

/** Text as it may stand in SVG. */
export function escape(value) {
  return value.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);
}
