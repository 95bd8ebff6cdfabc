/** The parts of a list, which commas end; a comma in a text in JSON quotes is one of its characters. */
export function listParts(text: string): string[] {
  return (text.match(/(?:,|^)(?:\s*"(?:[^"\\]|\\.)*"\s*(?=,|$)|[^,]*)/g) ?? [])
    .map((part) => part.replace(/^,/, '').trim())
    .filter((part) => part !== '');
}
