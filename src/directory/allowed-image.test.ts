import { expect, test } from 'vitest';
import { allowedImage } from './allowed-image.ts';

const ID = `sha256:${'b'.repeat(64)}`;
const rules = (allowedImages: string[] = [], image?: string) => ({
  config: { allowedImages, ...(image === undefined ? {} : { image }) },
  standardImage: () => 'hotcell/python:0123456789ab',
});

test('the local owner opens any image, under the name that was given', () => {
  expect(allowedImage('local', { image: 'private' }, rules())).toBe('private');
});

test.each(['t-0', 'anonymous'])(
  '%s opens the standard image and the configured one, however they are spelled',
  (owner) => {
    const open = (image: string) => allowedImage(owner, { image }, rules([], 'analysis'));
    for (const image of ['hotcell/python:0123456789ab', 'docker.io/hotcell/python:0123456789ab']) {
      expect(open(image)).toBe('docker.io/hotcell/python:0123456789ab');
    }
    for (const image of ['analysis', 'analysis:latest', 'docker.io/library/analysis']) {
      expect(open(image)).toBe('docker.io/library/analysis:latest');
    }
  },
);

test.each([
  'private',
  'analysis:2',
  `analysis@${ID}`,
  ID,
  'b'.repeat(64),
  'bbbb',
  'hotcell/python',
  'evil.io/analysis',
])('a token does not open %s, and the error has a remedy', (image) => {
  expect(() => allowedImage('t-0', { image }, rules([], 'analysis'))).toThrow(
    expect.objectContaining({ code: 'image_denied', remedy: expect.stringContaining('--allowed-image') }),
  );
});

test('a name that could be the beginning of an id is opened as a name', () => {
  expect(allowedImage('t-0', { image: 'cafe' }, rules(['ca*']))).toBe('docker.io/library/cafe:latest');
  expect(() => allowedImage('t-0', { image: 'bbbb' }, rules([ID]))).toThrow(/bbbb/);
});

test('an id is opened where it is listed', () => {
  expect(allowedImage('t-0', { image: ID }, rules([ID]))).toBe(ID);
});

test('a star alone allows every image, and a request without an image passes', () => {
  expect(allowedImage('t-0', { image: 'cafe' }, rules(['*']))).toBe('cafe');
  expect(allowedImage('t-0', {}, rules())).toBeUndefined();
});

test("a profile's own image needs no leave", () => {
  expect(allowedImage('t-0', { image: 'theirs', isOwnImage: true }, rules())).toBe('theirs');
});
