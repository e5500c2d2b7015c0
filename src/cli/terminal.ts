/** Properties of the terminal, by the usual environment variables. Hotcell's own options are in `config/`. */

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ColouredStream {
  readonly isTTY?: boolean;
  hasColors?(): boolean;
}

/**
 * Whether to use colours on this stream: FORCE_COLOR enables, NO_COLOR and TERM=dumb disable them; otherwise the
 * terminal decides.
 */
export function wantsColours(stream: ColouredStream, env: Environment = process.env): boolean {
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false';
  if (env.NO_COLOR || isDumb(env)) return false;
  return stream.isTTY === true && stream.hasColors?.() === true;
}

/** Whether the terminal can only print line by line: Emacs' shell, some logs of build servers. */
export function isDumb(env: Environment = process.env): boolean {
  return env.TERM === 'dumb';
}

export type ImageProtocol = 'iterm' | 'kitty';

/** The protocol for inline pictures, if the terminal has one. tmux and screen pass none on. */
export function imageProtocol(env: Environment = process.env): ImageProtocol | undefined {
  if (env.TMUX || env.STY || isDumb(env)) return undefined;
  if (env.KITTY_WINDOW_ID || env.TERM === 'xterm-kitty' || env.TERM === 'xterm-ghostty') return 'kitty';
  const program = env.TERM_PROGRAM ?? '';
  if (['iTerm.app', 'WezTerm', 'mintty'].includes(program) || env.LC_TERMINAL === 'iTerm2') return 'iterm';
  return undefined;
}

/** Whether the terminal wraps lines again when it gets another width: most do, some not the line with the cursor. */
export function reflowOf(env: Environment = process.env): 'all' | 'other-lines' | 'none' {
  if (env.TMUX) return 'all';
  if (env.STY || env.XTERM_VERSION) return 'none';
  return env.TERM_PROGRAM === 'vscode' ? 'other-lines' : 'all';
}
