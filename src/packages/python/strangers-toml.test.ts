import { expect, test } from 'vitest';
import { buildRequirements } from './local/build-requirements.ts';
import { parsePythonLock } from './python-lock.ts';
import { parseStrangersToml } from './strangers-toml.ts';

const FILE = `name = "${'x'.repeat(40)}"\n`;
const LOCK = `lock-version = "1.0"\ncreated-by = "uv"\n`;

/** Shapes for which the parser needs most time, of a given size. */
const shapes = (chars: number) => ({
  'one key with many dots': `a${'.a'.repeat(chars / 2)} = 1\n`,
  'many keys': Array.from({ length: chars / 8 }, (_, at) => `k${at} = 1\n`).join(''),
  'many keys in one table': `a = {${Array.from({ length: chars / 8 }, (_, at) => `k${at} = 1`).join(',')}}\n`,
  'many tables': Array.from({ length: chars / 8 }, (_, at) => `[t${at}]\n`).join(''),
});

test('characters count outside of strings, whatever is escaped in them', () => {
  const limits = { mostChars: 100, mostOutside: 10 };
  expect(parseStrangersToml(FILE, limits)).toEqual({ name: 'x'.repeat(40) });
  expect(parseStrangersToml(`a = "\\"\\\\"\n`, limits)).toEqual({ a: '"\\' });
  expect(parseStrangersToml('a = 1\nb = 2\nc = 3\n', limits)).toBeUndefined();
  expect(parseStrangersToml(FILE.repeat(3), { mostChars: 100, mostOutside: 100 })).toBeUndefined();
  expect(parseStrangersToml('a = ', limits)).toBeUndefined();
});

test.each(Object.entries(shapes(3_000_000)))('neither a project nor a lock of 3 MB is parsed: %s', (_, text) => {
  expect(() => buildRequirements(text)).toThrow('pyproject.toml');
  expect(parsePythonLock(`${LOCK}${text}`)).toBeUndefined();
});

test('a lock of thousands of files is read', () => {
  const wheel = `{ url = "https://files.test/${'c'.repeat(150)}.whl", size = 12345, hashes = { sha256 = "${'d'.repeat(64)}" } }`;
  const one = (at: number) =>
    `[[packages]]\nname = "p${at}"\nversion = "1.0"\nwheels = [${Array(10).fill(wheel).join(', ')}]\n`;
  const lock = parsePythonLock(`${LOCK}${Array.from({ length: 400 }, (_, at) => one(at)).join('')}`);
  expect(lock?.packages).toHaveLength(400);
});
