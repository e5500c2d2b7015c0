import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { contentHash, imageFolder } from '../python-packages.ts';

/** The input files of the standard image, besides the downloads that they name. */
export const imageFiles = [
  'Dockerfile',
  'standard.json',
  'requirements.txt',
  'uv.txt',
  'finish.py',
  'node.json',
  'fetch-node.py',
  'services',
  'hotcell-layers.pth',
] as const;

/** A second tag of the newest standard image, for images of users that are built on it. */
export const latestImage = 'hotcell/python:latest';

/** The tag of the standard image: a hash of its input files, so that every change gets a new tag. */
export function standardImageTag(): string {
  return imageTag(...imageFiles.map((name) => readFileSync(join(imageFolder(), name))));
}

export function imageTag(...contents: (string | Uint8Array)[]): string {
  return `hotcell/python:${contentHash(...contents)}`;
}

/** The base of the standard image, with its Python version, which decides the wheels to fetch. */
export interface BaseImage {
  image: string;
  python: string;
}

export const officialBase: BaseImage = { image: 'python:3.12-slim-bookworm', python: '3.12' };

/** The base that set-up builds from Debian packages when no image can be pulled. */
export const debianBase: BaseImage = { image: 'hotcell/base:bookworm', python: '3.11' };

/** glibc versions that wheels are published for, up to that of Debian 12. */
const glibcMinors = [36, 35, 34, 31, 28, 27, 26, 24, 17];

/** The platform tags of wheels that run in both bases on an engine of that architecture (Docker's name for it). */
export function wheelPlatforms(engineArchitecture: string): string[] {
  const machine = { amd64: 'x86_64', arm64: 'aarch64' }[engineArchitecture] ?? engineArchitecture;
  return [...glibcMinors.map((minor) => `manylinux_2_${minor}_${machine}`), `manylinux2014_${machine}`];
}
