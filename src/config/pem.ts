import { readFileSync } from 'node:fs';
import { reason } from './sources';

/** The text of a PEM file that a setting names. What is wrong with it is added to `problems`. */
export function readPem(setting: string, path: string, problems: string[]): string {
  try {
    const text = readFileSync(path, 'utf8');
    if (!text.includes('-----BEGIN ')) {
      problems.push(`${setting} must name a PEM file; ${path} holds none`);
    }
    return text;
  } catch (error) {
    problems.push(`${setting}: ${path} cannot be read (${reason(error)})`);
    return '';
  }
}
