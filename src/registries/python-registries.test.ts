import { describe, expect, it } from 'vitest';
import { parseDefaultIndex, parsePipSettings } from './pip-settings.ts';
import { combined } from './python-registries.ts';
import { parseUvSettings } from './uv-settings.ts';

const fallback = 'https://default.example/simple';
const asked = (pip: string, uv: NodeJS.ProcessEnv = {}) =>
  combined({ pip: parsePipSettings(pip, {}), uv: parseUvSettings([], uv), fallback });

describe('the registries of Python', () => {
  it('are the default of the tools where nothing is configured', () => {
    expect(asked('')).toMatchObject({ index: { url: fallback }, extraIndexes: [], findLinks: [] });
  });

  it("are those of pip, without a password in the address, and in pip's order", () => {
    const settings = [
      "global.index-url='https://reader:s%40cret@mirror.example/simple'",
      "global.extra-index-url='https://extra.example/simple'",
      "global.find-links='/opt/wheels https://links.example/ file:///srv/more%20wheels'",
    ];
    expect(asked(settings.join('\n'))).toMatchObject({
      index: { url: 'https://mirror.example/simple', login: { username: 'reader', password: 's@cret' } },
      extraIndexes: [{ url: 'https://extra.example/simple' }],
      findLinks: [{ folder: '/opt/wheels' }, { url: 'https://links.example/' }, { folder: '/srv/more wheels' }],
      strategy: 'unsafe-best-match',
    });
  });

  it('are those of uv where uv is configured', () => {
    const uv = { UV_DEFAULT_INDEX: 'https://uv.example/simple', UV_INDEX: 'https://torch.example/whl' };
    expect(asked("global.index-url='https://mirror.example/simple'", uv)).toMatchObject({
      index: { url: 'https://uv.example/simple' },
      extraIndexes: [{ url: 'https://torch.example/whl' }],
      strategy: 'first-index',
    });
  });

  it('are folders alone on a machine without an index', () => {
    const settings = asked("global.no-index='true'\nglobal.find-links='/opt/wheels'");
    expect(settings).toMatchObject({ index: undefined, extraIndexes: [], findLinks: [{ folder: '/opt/wheels' }] });
  });

  it('may be an index in a folder', () => {
    expect(asked("global.index-url='file:///srv/index'").index).toEqual({ folder: '/srv/index' });
  });
});

describe('the default index', () => {
  it('stands in the help of pip and of uv', () => {
    const pip =
      '  -i, --index-url <url>  Base URL of the Python Package Index (default https://a.example/simple). This';
    const uv =
      '      --default-index <DEFAULT_INDEX>\n          The default package index (by default: <https://a.example/simple>).';
    expect(parseDefaultIndex(pip)).toBe('https://a.example/simple');
    expect(parseDefaultIndex(uv)).toBe('https://a.example/simple');
    expect(parseDefaultIndex('(default https://a.example/a b)')).toBeUndefined();
    expect(parseDefaultIndex('')).toBeUndefined();
  });
});
