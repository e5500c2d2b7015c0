import { expect, test } from 'vitest';
import { parseNpmSettings } from './npm-settings.ts';

test('npm names its registry, those of scopes, and its certificates', () => {
  const output = JSON.stringify({
    registry: 'https://reader:secret@npm.example/',
    '@team:registry': 'https://team.example/npm/',
    '@broken:registry': 'not an address',
    '//npm.example/:_authToken': '(protected)',
    cafile: '/etc/ssl/mine.pem',
  });
  expect(parseNpmSettings(output, {})).toEqual({
    registry: { url: 'https://npm.example/', login: { username: 'reader', password: 'secret' } },
    scopes: new Map([['@team', { url: 'https://team.example/npm/' }]]),
    certificates: '/etc/ssl/mine.pem',
  });
});

test('without an npm the variable counts', () => {
  const env = { npm_config_registry: 'https://env.example/' };
  expect(parseNpmSettings('', env).registry).toEqual({ url: 'https://env.example/' });
  expect(parseNpmSettings('npm: not found', {}).registry).toBeUndefined();
});
