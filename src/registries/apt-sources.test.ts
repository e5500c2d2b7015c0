import { expect, test } from 'vitest';
import { parseAptSources } from './apt-sources.ts';

test('apt names each repository many times, and some that are no addresses', () => {
  const lines = [
    'http://debian.example/debian/',
    'http://debian.example/debian/',
    'cdrom:[disk]/',
    'file:/srv/debian/',
  ];
  const more = ['mirror+https://mirrors.example/list', 'https://reader:secret@team.example/debian/', ''];
  expect(parseAptSources([...lines, ...more].join('\n'))).toEqual([
    { url: 'http://debian.example/debian/' },
    { url: 'https://mirrors.example/list' },
    { url: 'https://team.example/debian/', login: { username: 'reader', password: 'secret' } },
  ]);
});
