/** A human-readable duration: `12 ms`, `1.4 s`, `2 min 5 s`. */
export function durationText(durationMs: number): string {
  if (durationMs < 1000) return `${Math.round(durationMs)} ms`;
  if (durationMs < 60_000) return `${trimmed(durationMs / 1000)} s`;
  const seconds = Math.round(durationMs / 1000);
  return `${Math.floor(seconds / 60)} min${seconds % 60 === 0 ? '' : ` ${seconds % 60} s`}`;
}

/** A human-readable size: `1 byte`, `3.2 KiB`, `512 MiB`. */
export function sizeText(sizeBytes: number): string {
  if (sizeBytes < 1024) return sizeBytes === 1 ? '1 byte' : `${sizeBytes} bytes`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(Math.floor(Math.log2(sizeBytes) / 10), units.length);
  return `${trimmed(sizeBytes / 1024 ** power)} ${units[power - 1]}`;
}

function trimmed(value: number): string {
  return value.toFixed(value < 10 ? 1 : 0).replace(/\.0$/, '');
}
