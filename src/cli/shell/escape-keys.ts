/**
 * Keys for Hotcell instead of the program, as in ssh: `~.` at the beginning of a line detaches, `~~` sends one tilde.
 */
export interface EscapeKeys {
  /** Returns the bytes for the program. Bytes after `~.` are dropped. */
  push(typed: Uint8Array): { readonly data: Buffer; readonly isDetach: boolean };
}

const [TILDE, DOT, CR, LF] = [0x7e, 0x2e, 0x0d, 0x0a];

export function createEscapeKeys(): EscapeKeys {
  let state: 'line-start' | 'tilde' | 'in-line' = 'line-start';
  return {
    push(typed) {
      const data: number[] = [];
      for (const byte of typed) {
        if (state === 'line-start' && byte === TILDE) {
          state = 'tilde'; // held back until the next key decides
          continue;
        }
        if (state === 'tilde' && byte === DOT) return { data: Buffer.from(data), isDetach: true };
        if (state === 'tilde') data.push(TILDE);
        if (state !== 'tilde' || byte !== TILDE) data.push(byte);
        state = byte === CR || byte === LF ? 'line-start' : 'in-line';
      }
      return { data: Buffer.from(data), isDetach: false };
    },
  };
}
