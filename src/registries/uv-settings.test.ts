import { describe, expect, it } from 'vitest';
import { parseUvSettings } from './uv-settings.ts';

const file = `
index-url = "https://old.example/simple"
extra-index-url = ["https://extra.example/simple"]
find-links = ["/opt/links"]

[[index]]
name = "team-mirror"
url = "https://mirror.example/simple"
default = true

[[index]]
name = "torch"
url = "https://torch.example/whl"
explicit = true

[pip]
find-links = ["/opt/pip-links"]
`;

describe("uv's settings", () => {
  it('come from its file', () => {
    expect(parseUvSettings([file], {})).toEqual({
      index: { address: 'https://mirror.example/simple' },
      extraIndexes: [{ address: 'https://extra.example/simple' }],
      findLinks: ['/opt/pip-links'],
      insecureHosts: [],
      noIndex: false,
      strategy: undefined,
    });
  });

  it('in variables override those of the file', () => {
    const env = {
      UV_DEFAULT_INDEX: 'main=https://env.example/simple',
      UV_INDEX: 'https://one.example/simple two=https://two.example/simple',
      UV_INSECURE_HOST: 'env.example',
    };
    expect(parseUvSettings([file], env)).toMatchObject({
      index: { address: 'https://env.example/simple' },
      extraIndexes: [{ address: 'https://one.example/simple' }, { address: 'https://two.example/simple' }],
      insecureHosts: ['env.example'],
    });
  });

  it('may keep the login of a named index in variables', () => {
    const env = { UV_INDEX_TEAM_MIRROR_USERNAME: 'reader', UV_INDEX_TEAM_MIRROR_PASSWORD: 'secret' };
    expect(parseUvSettings([file], env).index?.login).toEqual({ username: 'reader', password: 'secret' });
  });

  it('may say that no index is asked', () => {
    expect(parseUvSettings(['no-index = true\nfind-links = ["/opt/wheels"]'], {}).noIndex).toBe(true);
  });

  it('of a file that cannot be read are none', () => {
    expect(parseUvSettings(['not = = toml', 'index-url = 3', ''], {})).toMatchObject({
      index: undefined,
      extraIndexes: [],
    });
  });
});
