import { describe, expect, it } from 'vitest';
import { npmLoginFor, parseNpmLogins } from './npm-logins.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('the logins of npm', () => {
  it('are tokens, or names with passwords, each for an address', () => {
    const text = [
      '; a comment',
      'registry=https://npm.example/',
      '//token.example/:_authToken=secret=1',
      '//quoted.example/team/:_authToken = "secret 2"',
      `//both.example:8080/:_auth=${base64('me:pass:word')}`,
      '//apart.example/:username=me',
      `//apart.example/:_password=${base64('p')}`,
      '//half.example/:username=me',
      '//broken.example/:_auth=####',
      '_authToken=for no address',
    ].join('\r\n');
    expect(Object.fromEntries(parseNpmLogins([text], {}))).toEqual({
      '//token.example': { token: 'secret=1' },
      '//quoted.example/team': { token: 'secret 2' },
      '//both.example:8080': { username: 'me', password: 'pass:word' },
      '//apart.example': { username: 'me', password: 'p' },
    });
  });

  it('come from variables first, then from the first file that has them', () => {
    const files = ['//a.example/:_authToken=first', '//a.example/:_authToken=second\n//b.example/:_authToken=second'];
    const env = { 'npm_config_//b.example/:_authToken': 'variable' };
    expect([...parseNpmLogins(files, env)]).toEqual([
      ['//b.example', { token: 'variable' }],
      ['//a.example', { token: 'first' }],
    ]);
  });

  it('may name variables, and are none where a variable is missing', () => {
    const written = { a: 'HAS}!', b: 'HAS_NOT}', c: 'HAS_NOT?}x' };
    const text = Object.entries(written)
      .map(([host, value]) => `//${host}.example/:_authToken=\${${value}`)
      .join('\n');
    expect([...parseNpmLogins([text], { HAS: 'it' })]).toEqual([
      ['//a.example', { token: 'it!' }],
      ['//c.example', { token: 'x' }],
    ]);
  });

  it('are for their path and what is below it, and for no other host or port', () => {
    const logins = parseNpmLogins(['//a.example/npm/:_authToken=npm\n//a.example/npm/team:_authToken=team'], {});
    const at = (address: string) => npmLoginFor(address, logins);
    expect(at('https://a.example/npm/')).toEqual({ token: 'npm' });
    expect(at('https://a.example/npm/team/')).toEqual({ token: 'team' });
    expect(at('http://a.example/npm/other')).toEqual({ token: 'npm' });
    for (const other of [
      'https://a.example/',
      'https://a.example/npmx/',
      'https://a.example:8443/npm/',
      'https://b.example/npm/',
    ])
      expect(at(other)).toBeUndefined();
  });
});
