import { expect, test } from 'vitest';
import { networkVariables, PROXY } from './network-variables.ts';

const variables = networkVariables();

test('the proxy is in upper and in lower case, and loopback is exempt', () => {
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']) {
    expect(variables[name]).toBe(`http://127.0.0.1:{${PROXY}}`);
    expect(variables[name.toLowerCase()]).toBe(variables[name]);
  }
  expect(variables.NO_PROXY).toBe(variables.no_proxy);
  expect(variables.NO_PROXY?.split(',')).toEqual(['localhost', '127.0.0.1', '::1']);
});

test('every variable that names certificates names the same file', () => {
  const names = Object.entries(variables).filter(([, value]) => value === '{ca}');
  expect(names.map(([name]) => name)).toEqual(
    expect.arrayContaining([
      'SSL_CERT_FILE',
      'REQUESTS_CA_BUNDLE',
      'CURL_CA_BUNDLE',
      'NODE_EXTRA_CA_CERTS',
      'PIP_CERT',
    ]),
  );
});

test('Node uses the proxy, and keeps the options that it had', () => {
  expect(variables).toMatchObject({ NODE_USE_ENV_PROXY: '1', NODE_OPTIONS: '{before} --require={preload}' });
});

test('no value names anything of the host', () => {
  const known = ['{proxy}', '{ca}', '{preload}', '{before}'];
  for (const value of Object.values(variables)) {
    for (const [found] of value.matchAll(/\{[^}]*\}/g)) expect(known).toContain(found);
    expect(value).not.toMatch(/\/(etc|root|home|var)\//);
  }
});
