/** Remembers what was run under which name, and makes tracebacks that show the user's own lines. */

const MAX_REMEMBERED_CHARS = 1_048_576;
const MAX_TRACEBACK_BYTES = 32_768;
const MAX_TRACEBACK_LINES = 500;
const MAX_LINE_CHARS = 2_000;
const MAX_NAME_CHARS = 500;
const MAX_FRAMES = 40;
const MAX_MESSAGE_CHARS = 4_096;
const MAX_WHOLE_MESSAGE_BYTES = 65_536;
/** Frames of Node itself and of ours. Those of packages stay: they are part of the story. */
const FOREIGN_FRAME = /^\s+at .*(?:\bnode:|hotcell:|\[eval\])/;
const FRAME = /^\s+at (?:.*\()?(.*?):(\d+):(\d+)\)?(?: \{|,)?$/;

/** `hasNetwork` tells whether the session has a network now. */
export function createSources(hasNetwork = () => false) {
  const known = new Map();
  let chars = 0;
  let latest;

  return {
    /** Returns the name that V8 is to know it by: a source's own address may hold no blanks. */
    add(filename, source, code) {
      const url = filename.replaceAll(/[\s'"]/g, '-');
      known.delete(url);
      latest = { url, filename, lines: source.split('\n'), columnsHold: source === code };
      known.set(url, latest);
      chars += source.length;
      while (chars > MAX_REMEMBERED_CHARS && known.size > 1) {
        const [oldest, { lines }] = known.entries().next().value;
        known.delete(oldest);
        chars -= lines.join('\n').length;
      }
      return url;
    },
    /** A message that does not fit into the head of `finished`: its bytes, cut between two characters. Undefined for a short one. */
    longMessage(message) {
      if (message.length <= MAX_MESSAGE_CHARS && weight([message]) <= MAX_MESSAGE_CHARS) return undefined;
      let bytes = Buffer.from(message);
      for (let end = MAX_WHOLE_MESSAGE_BYTES; bytes.length > MAX_WHOLE_MESSAGE_BYTES; end -= 1)
        if ((bytes[end] & 0xc0) !== 0x80) bytes = bytes.subarray(0, end);
      return bytes;
    },
    /** The outcome of an exception, from what the main thread could say about it. */
    raised({ name, message, text, place }) {
      const lines = withoutForeignFrames(text.split('\n'));
      const where = firstUserFrame(lines) ?? (place === undefined ? undefined : { source: latest, ...place });
      const shown = [...(where === undefined ? [] : excerpt(where)), ...lines].map(readable);
      return {
        kind: 'raised',
        name: cut(name, MAX_NAME_CHARS),
        message: cut(message, MAX_MESSAGE_CHARS),
        traceback: bounded(shown.map((line) => cut(line, MAX_LINE_CHARS))),
        ...hintFor(text, hasNetwork()),
        frames: framesOf(lines),
      };
    },
  };

  function firstUserFrame(lines) {
    for (const line of lines) {
      const [, url, number, column] = FRAME.exec(line) ?? [];
      const source = known.get(url);
      if (source !== undefined) return { source, line: Number(number) - 1, column: Number(column) - 1 };
    }
    return undefined;
  }

  function framesOf(lines) {
    return lines
      .map((line) => FRAME.exec(line))
      .filter((frame) => frame !== null)
      .slice(0, MAX_FRAMES)
      .map(([line, url, number]) => ({
        file: cut(known.get(url)?.filename ?? url, MAX_NAME_CHARS),
        line: Math.min(Number(number), Number.MAX_SAFE_INTEGER),
        function: cut(/at (?:async )?(.*) \(/.exec(line)?.[1] ?? '', 200),
        own: !url.includes('/node_modules/'),
      }));
  }

  function readable(line) {
    let text = line;
    for (const { url, filename } of known.values()) {
      if (url !== filename && text.includes(url)) text = text.replaceAll(url, filename);
    }
    return text;
  }
}

/** Advice, if it is certain. */
function hintFor(text, hasNetwork) {
  if (UNREACHED.test(text) && !hasNetwork) return { hint: NO_NETWORK };
  const [, name] = /Cannot find (?:package|module) '((?:@[\w.-]+\/)?[\w-][\w.-]*)'/.exec(text) ?? [];
  if (name === undefined) return {};
  return {
    hint: `The package ${cut(name, 200)} is not in this sandbox. \`npm install\` adds it if the session may install packages; otherwise put it into node_modules of the workspace.`,
  };
}

const UNREACHED = /\b(?:getaddrinfo (?:ENOTFOUND|EAI_AGAIN)|connect (?:ENETUNREACH|EHOSTUNREACH))\b/;
// As in interpreter/hints.py.
const NO_NETWORK = 'This session has no network. Copy data in, or open hosts (--network, or set_network if available).';

/** What follows the last frame on its line, as `{` does before an error's own properties, stays. */
function withoutForeignFrames(lines) {
  const kept = [];
  for (const line of lines) {
    if (FOREIGN_FRAME.test(line)) {
      const [tail] = /(?: \{|,)$/.exec(line) ?? [''];
      if (kept.length > 0) kept.push(kept.pop() + tail);
    } else if (!/^\s+\.\.\. \d+ lines matching cause stack trace/.test(line)) {
      kept.push(line);
    }
  }
  return kept;
}

/** The line itself, as Node shows it: a mark below the column where that is the user's own. */
function excerpt({ source, line, column }) {
  const text = source.lines[line];
  if (text === undefined) return [];
  const mark = source.columnsHold && column < 200 ? [`${text.slice(0, column).replaceAll(/[^\t]/g, ' ')}^`] : [];
  return [`${source.url}:${line + 1}`, text, ...mark, ''];
}

/** The middle goes first. */
function bounded(lines) {
  if (lines.length <= MAX_TRACEBACK_LINES && weight(lines) <= MAX_TRACEBACK_BYTES) return lines;
  const head = asManyAsFit(lines.slice(0, 10));
  const tail = asManyAsFit(lines.slice(10).slice(-MAX_TRACEBACK_LINES).reverse()).reverse();
  return [...head, `  … ${lines.length - head.length - tail.length} lines left out …`, ...tail];
}

function asManyAsFit(lines) {
  let cost = 0;
  const end = lines.findIndex((line) => {
    cost += weight([line]);
    return cost > MAX_TRACEBACK_BYTES / 2;
  });
  return end === -1 ? lines : lines.slice(0, end);
}

/** What they cost in a frame. */
function weight(lines) {
  return Buffer.byteLength(JSON.stringify(lines));
}

function cut(text, limit) {
  let kept = text.length > limit ? `${text.slice(0, limit)}…` : text;
  while (weight([kept]) > limit * 2 + 64) kept = `${kept.slice(0, kept.length / 2)}…`;
  return kept;
}
