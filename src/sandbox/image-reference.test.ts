import { describe, expect, test } from 'vitest';
import { threadMs } from '../../test/support/thread-time.ts';
import { fullImageName, matchesImagePattern } from './image-reference.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;

describe('a full name', () => {
  test.each([
    ['python', 'docker.io/library/python:latest'],
    ['python:latest', 'docker.io/library/python:latest'],
    ['docker.io/python', 'docker.io/library/python:latest'],
    ['docker.io/library/python', 'docker.io/library/python:latest'],
    ['index.docker.io/library/python:3', 'docker.io/library/python:3'],
    ['library/python', 'docker.io/library/python:latest'],
    ['myorg/app', 'docker.io/myorg/app:latest'],
    ['localhost/app', 'localhost/app:latest'],
    ['localhost:5000/app', 'localhost:5000/app:latest'],
    ['ghcr.io/myorg/app:1', 'ghcr.io/myorg/app:1'],
    [`python@${DIGEST}`, `docker.io/library/python@${DIGEST}`],
    [`python:3@${DIGEST}`, `docker.io/library/python@${DIGEST}`],
    [`localhost:5000/a/b:3@${DIGEST}`, `localhost:5000/a/b@${DIGEST}`],
  ])('of %s is %s', (name, full) => {
    expect(fullImageName(name)).toBe(full);
    expect(fullImageName(full)).toBe(full);
  });

  test.each([DIGEST, 'a'.repeat(64), 'A'.repeat(64)])('is undefined for the id %s', (id) => {
    expect(fullImageName(id)).toBeUndefined();
  });

  test('of a name that could be the prefix of an id is that of the name', () => {
    expect(fullImageName('cafe')).toBe('docker.io/library/cafe:latest');
    expect(fullImageName('sha256:12')).toBe('docker.io/library/sha256:12');
  });
});

describe('a pattern', () => {
  const allows = (pattern: string, name: string) => matchesImagePattern(fullImageName(name)!, pattern);

  test.each([
    ['python', 'docker.io/library/python:latest'],
    ['docker.io/library/python:latest', 'python'],
    ['myorg/*', 'myorg/app:1.2'],
    ['myorg/*', 'docker.io/myorg/app'],
    ['myorg/*', `myorg/app@${DIGEST}`],
    ['myorg/app:*', 'myorg/app:1.2'],
    ['ghcr.io/*/app:v*', 'ghcr.io/team/app:v2'],
    ['my*', 'mytool:3'],
    ['*.example.com/app', 'eu.example.com/app'],
    [`python@${DIGEST}`, `python:3@${DIGEST}`],
  ])('%s allows %s', (pattern, name) => {
    expect(allows(pattern, name)).toBe(true);
  });

  test.each([
    ['python', 'python:3'],
    ['python', `python@${DIGEST}`],
    ['python', 'evil.example/library/python'],
    ['python', 'evil/python'],
    ['myorg/*', 'myorg2/app'],
    ['myorg/*', 'evil.example/myorg/app'],
    ['myorg/*', 'myorg/team/app'],
    ['myorg/*', 'myorg'],
    ['*', 'myorg/app'],
    ['my*', 'my/tool'],
    ['myorg/app:*', 'myorg/app-two:1'],
    ['a*a', 'a'],
  ])('%s does not allow %s', (pattern, name) => {
    expect(allows(pattern, name)).toBe(false);
  });

  test('is matched in linear time, whatever stars it has', () => {
    const begin = threadMs();
    expect(allows(`${'*a'.repeat(120)}*b`, `a${'a'.repeat(240)}`)).toBe(false);
    expect(threadMs() - begin).toBeLessThan(100);
  });
});
