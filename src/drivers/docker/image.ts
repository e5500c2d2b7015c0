import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { contentHash, imageFolder } from '../python-packages.ts';

/** What the standard image is made of, beside what is fetched by these files' word. */
export const imageFiles = ['Dockerfile', 'requirements.txt', 'node.json', 'fetch-node.py'] as const;

/** The standard image, named by what it is made of: another Dockerfile or another package, another tag. */
export function standardImageTag(): string {
  return imageTag(...imageFiles.map((name) => readFileSync(join(imageFolder(), name))));
}

export function imageTag(...contents: (string | Uint8Array)[]): string {
  return `hotcell/python:${contentHash(...contents)}`;
}

/** What the standard image stands on: an image, and the Python in it, which decides the wheels to fetch. */
export interface BaseImage {
  image: string;
  python: string;
}

export const officialBase: BaseImage = { image: 'python:3.12-slim-bookworm', python: '3.12' };

/** Made here from Debian's packages, where nothing can be pulled. */
export const debianBase: BaseImage = { image: 'hotcell/base:bookworm', python: '3.11' };

/** glibc versions that wheels are published for, up to that of Debian 12. */
const glibcMinors = [36, 35, 34, 31, 28, 27, 26, 24, 17];

/** The platform tags of wheels that run in either base on an engine of that architecture (Docker's name for it). */
export function wheelPlatforms(engineArchitecture: string): string[] {
  const machine = { amd64: 'x86_64', arm64: 'aarch64' }[engineArchitecture] ?? engineArchitecture;
  return [...glibcMinors.map((minor) => `manylinux_2_${minor}_${machine}`), `manylinux2014_${machine}`];
}
