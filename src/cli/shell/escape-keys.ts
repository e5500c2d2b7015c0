/** Keys that are for Hotcell and not for the program, as in ssh: `~.` at the beginning of a line detaches, `~~` sends one tilde. */
export interface EscapeKeys {
  /** Bytes for the program. What comes behind `~.` is for neither. */
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
          state = 'tilde'; // held back until the next key says what it is
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
