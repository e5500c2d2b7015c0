import { describe, expect, it } from 'vitest';
import { parsePipSettings, shownIndex, uvVariables } from './pip-settings.ts';

const listed = [
  ":env:.index-url='https://from.env/simple'",
  "global.index-url='https://user:secret@mirror.example/simple'",
  "global.extra-index-url='\\nhttps://one.example/simple\\nhttps://two.example/simple'",
  "global.trusted-host='mirror.example'",
  "install.find-links='/opt/wheels'",
  "global.cert='/etc/ssl/mine.pem'",
].join('\n');

describe('the settings of pip', () => {
  it('apply to uv', () => {
    expect(uvVariables(parsePipSettings(listed, {}), {})).toEqual({
      UV_DEFAULT_INDEX: 'https://user:secret@mirror.example/simple',
      UV_INDEX: 'https://one.example/simple https://two.example/simple',
      UV_INDEX_STRATEGY: 'unsafe-best-match',
      UV_FIND_LINKS: '/opt/wheels',
      UV_INSECURE_HOST: 'mirror.example',
      SSL_CERT_FILE: '/etc/ssl/mine.pem',
    });
  });

  it('in variables override those in files', () => {
    const env = { PIP_INDEX_URL: 'https://other.example/simple', PIP_CERT: '/other.pem' };
    const settings = parsePipSettings(listed, env);
    expect(settings).toMatchObject({ index: 'https://other.example/simple', certificates: '/other.pem' });
  });

  it('do not override what the user has set for uv', () => {
    const env = { UV_INDEX_URL: 'https://uv.example/simple', SSL_CERT_FILE: '/uv.pem', UV_FIND_LINKS: '/uv' };
    const variables = uvVariables(parsePipSettings(listed, env), env);
    for (const name of ['UV_DEFAULT_INDEX', 'SSL_CERT_FILE', 'UV_FIND_LINKS'])
      expect(variables).not.toHaveProperty(name);
  });

  it('leave uv alone where nothing is set', () => {
    expect(uvVariables(parsePipSettings('', {}), {})).toEqual({});
  });

  it('may name folders alone', () => {
    const settings = parsePipSettings("global.no-index='true'\nglobal.find-links='/opt/wheels'", {});
    expect(settings).toMatchObject({ noIndex: true });
    expect(shownIndex(settings, {})).toBe('/opt/wheels');
    const remote = { PIP_NO_INDEX: '1', PIP_FIND_LINKS: 'https://a:b@links.example/ /opt/wheels' };
    expect(shownIndex(parsePipSettings('', remote), {})).toBe('https://links.example/ /opt/wheels');
  });

  it('are shown without a password', () => {
    expect(shownIndex(parsePipSettings(listed, {}), {})).toBe('https://mirror.example/simple');
    expect(shownIndex(parsePipSettings('', {}), { UV_INDEX_URL: 'https://a:b@uv.example/' })).toBe(
      'https://uv.example/',
    );
  });
});
