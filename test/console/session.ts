import type { Page } from 'playwright-core';
import { accessibilityViolations } from './browser';

export const PASSWORD = 'Correct-horse-7-staple';

/** Requests of a test itself, as the admin. */
export async function ask(
  url: string,
  method: string,
  path: string,
  token: string,
  body?: unknown,
): Promise<string> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return response.text();
}

export async function adminToken(url: string): Promise<string> {
  return JSON.parse(await ask(url, 'POST', '/auth/admin/login', '', { password: PASSWORD })).token as string;
}

export async function signIn(page: Page, password = PASSWORD): Promise<void> {
  await page.getByLabel('Password of the admin').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Every page must have no violation of accessibility, and must not be wider than the window. */
export async function expectGood(page: Page, what: string): Promise<void> {
  expect([what, await accessibilityViolations(page)]).toEqual([what, []]);
  const excess = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  expect([what, excess]).toEqual([what, 0]);
}
