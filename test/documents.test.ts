import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configJsonSchema } from '../src/config/json-schema.ts';
import { configSchema } from '../src/config/schema.ts';
import { configurationPage } from './documents/configuration-page.ts';
import { errorsPage } from './documents/errors-page.ts';
import { packagesPage } from './documents/packages-page.ts';
import { toolsPage } from './documents/tools-page.ts';

const root = new URL('..', import.meta.url).pathname;
const read = (name: string) => readFileSync(join(root, name), 'utf8');

describe('the documents', () => {
  it('list exactly the errors that there are', async () => {
    await expect(errorsPage()).toMatchFileSnapshot('../docs/errors.md');
  });

  it('list exactly the options that there are', async () => {
    await expect(configurationPage()).toMatchFileSnapshot('../docs/configuration.md');
  });

  it('describe the configuration file for editors as it is', async () => {
    await expect(`${JSON.stringify(configJsonSchema(), null, 2)}\n`).toMatchFileSnapshot('../config.schema.json');
  });

  it('list exactly the tools that there are', async () => {
    await expect(toolsPage()).toMatchFileSnapshot('../docs/tools.md');
  });

  it('list exactly the packages and programs that every sandbox has', async () => {
    await expect(packagesPage()).toMatchFileSnapshot('../docs/packages.md');
  });

  it('say the same of level 1 in README and SECURITY', () => {
    expect(section(read('README.md'), 'level-1')).toBe(section(read('SECURITY.md'), 'level-1'));
  });

  it.each(pages())('%s links only to files that exist', (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, link]) => link!);
    expect(links.filter((link) => !existsSync(join(root, dirname(page), link)))).toEqual([]);
  });

  it.each(pages())('%s names only files of the sources that exist', (page) => {
    const paths = [...read(page).matchAll(/`((?:src|guest|test|scripts|examples|docs|images)\/[\w./-]+\.\w+)`/g)];
    expect(paths.map(([, path]) => path!).filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

describe('the messages', () => {
  it('name only options that there are', () => {
    const advice = sources().flatMap((path) =>
      [...read(path).matchAll(/\b(?:[Rr]aise|[Ll]ower) `?([a-z]+[A-Z]\w*)/g)].map(([, option]) => `${path}: ${option}`),
    );
    expect(advice.length).toBeGreaterThan(5);
    const options = Object.keys(configSchema.shape);
    expect(advice.filter((one) => !options.includes(one.split(': ')[1]!))).toEqual([]);
  });
});

function sources(): string[] {
  const names = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts')).map((name) => join('src', name));
}

/** What stands between `<!-- name -->` and `<!-- /name -->`. */
function section(text: string, name: string): string {
  const found = text.match(new RegExp(`<!-- ${name} -->\\n([\\s\\S]+?)\\n<!-- /${name} -->`))?.[1];
  if (found === undefined) throw new Error(`there is no section ${name}`);
  return found;
}

function pages(): string[] {
  const inDocs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).map((name) =>
    join('docs', name),
  );
  return [...readdirSync(root), ...inDocs].filter((name) => name.endsWith('.md'));
}
