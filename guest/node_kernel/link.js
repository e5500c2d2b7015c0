/**
 * The link thread: a worker that owns the private socket and drives the main thread, on which the user's code runs. It has globals of its own, so
 * whatever the user does to `Promise`, `JSON` or `Array.prototype` does not reach it, and it can end a loop that the main thread is lost in.
 */
import { readSync, write } from 'node:fs';
import { Session } from 'node:inspector';
import { Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { createDecoder, encode } from './frames.js';
import { createMeter } from './meter.js';
import { createQuestions } from './questions.js';
import { createSources } from './sources.js';
import { mendDescriptors } from './spare-descriptors.js';
import { unsupportedHint } from './unsupported.js';

const PRIVATE_SOCKET_FD = 3;
const MAX_VALUE_BYTES = 65_536;
const DISPLAY_PIECE_BYTES = 131_072;
/** An idle main thread answers at once; one that has not after this long is busy. */
const ANSWER_MS = 40;
const AGAIN_MS = 250;

const { drained, cancelled, program } = workerData;
const socket = new Socket({ fd: PRIVATE_SOCKET_FD, readable: true, writable: true });
const decode = createDecoder();
const meter = createMeter();
let hasNetwork = process.env.HOTCELL_PROXY !== undefined;
const sources = createSources(() => hasNetwork);
const debug = new Session();
debug.connectToMainThread();
const questions = createQuestions(debug);

let execution = '';
let running = false;
let displays = 0;
let persuasion;
let plain;
let source = '';
let syntax;

socket.on('data', (chunk) => {
  for (const frame of decode(chunk)) receive(frame);
});
// The supervisor's end means our end. A worker's own exit would leave the main thread behind.
socket.on('close', () => process.kill(process.pid, 'SIGKILL'));
socket.on('error', () => {});
parentPort.on('message', (message) => fromMain[message.kind]?.(message));

function receive({ head, body }) {
  if (head.type === 'execute') begin(head, body.toString('utf8'));
  else if (head.type === 'interrupt') interrupt();
  else if (head.type === 'drained') settleDrain(head.turn);
  else if (head.type === 'environment') changeVariables(head.variables);
  else if (head.type === 'question') answer(head, body.toString('utf8'));
}

/** Variables of the network, which was opened, changed or closed; null removes one. */
function changeVariables(variables) {
  if (variables.HOTCELL_PROXY !== undefined) hasNetwork = variables.HOTCELL_PROXY !== null;
  parentPort.postMessage({ kind: 'environment', variables });
}

/** Asked between executions only: nothing of the user's needs to run for it. */
async function answer({ question, kind, timeoutMs, ...members }, text) {
  const said = await questions.answer(kind, members, text, Number(timeoutMs));
  if (said.ok) send({ type: 'answer', question, ok: true }, Buffer.from(JSON.stringify(said.answer)));
  else send({ type: 'answer', question, ok: false, code: said.code, message: said.message });
}

function send(head, body) {
  socket.write(encode({ ...head, execution }, body));
}

function begin(head, text) {
  source = text;
  execution = String(head.execution);
  running = true;
  displays = 0;
  Atomics.store(cancelled, 0, 0);
  meter.begin();
  plain = head.language === 'typescript' ? undefined : source;
  const { code, failure } = prepared(source, head.language === 'typescript');
  const url = sources.add(String(head.filename), source, code);
  if (failure === undefined)
    parentPort.postMessage({ kind: 'execute', code: `${code}\n//# sourceURL=${url}`, environment: head.environment });
  else parentPort.postMessage({ kind: 'execute', failure });
}

/** The code as V8 takes it. What is plain JavaScript without modules goes as it came, and the transpiler is not even loaded for it. */
function prepared(source, isTypeScript) {
  if (!isTypeScript && !/\b(?:import|export)\b/.test(source)) return { code: source };
  syntax ??= loadSyntax();
  return syntax.prepare(source, isTypeScript);
}

/** What helps code that does not parse, where that is certain. */
function syntaxHint(outcome) {
  if (outcome.name !== 'SyntaxError' || !outcome.unparsed) return {};
  const hint = unsupportedHint(source);
  return hint === undefined ? typescriptHint(outcome) : { hint };
}

/** Code that does not parse, and would as TypeScript: the one thing that is certain to help. */
function typescriptHint({ name, unparsed }) {
  if (plain === undefined || name !== 'SyntaxError' || !unparsed) return {};
  syntax ??= loadSyntax();
  const { code, failure } = syntax.prepare(plain, true);
  const isTyped = failure === undefined && code !== plain && syntax.prepare(plain, false).code !== code;
  return isTyped ? { hint: "This is TypeScript: run it with the language 'typescript'." } : {};
}

function loadSyntax() {
  const { fd, start, length } = program.syntax;
  const text = Buffer.alloc(length);
  for (let read = 0; read < length; ) read += readSync(fd, text, read, length - read, start + read);
  const module = { exports: {} };
  new Function('module', 'exports', 'require', text.toString('utf8'))(module, module.exports, require);
  return module.exports;
}

const fromMain = {
  up() {
    send({ type: 'up', pid: process.pid });
  },
  drain({ turn }) {
    send({ type: 'drain', turn });
  },
  display({ parts, id, update }) {
    sendDisplay(parts, { ...(id === undefined ? {} : { id }), ...(update ? { update: true } : {}) });
  },
  finished({ outcome, value, added }) {
    if (!running) return;
    running = false;
    clearTimeout(persuasion);
    if (value !== undefined) {
      if (value.parts.length > 0) sendDisplay(value.parts, { value: true });
      const text = Buffer.from(value.text);
      const truncated = value.truncated || text.length > MAX_VALUE_BYTES;
      send({ type: 'value', truncated }, bounded(text));
    }
    mendDescriptors();
    questions.defined(added.names);
    const variables = added.names.length === 0 ? {} : { variables: { added: added.names, omitted: added.omitted } };
    const finish = (made, message) =>
      send(
        {
          ...{ type: 'finished', outcome: made, ...meter.read(), ...variables },
          ...(message === undefined ? {} : { message: { bytes: message.length } }),
        },
        message,
      );
    if (outcome.kind !== 'raised') return finish(outcome);
    const raised = { ...sources.raised(outcome), ...syntaxHint(outcome) };
    // The heap is not at its end, so V8 only throws; to the user it is the same.
    if (raised.message === 'Array buffer allocation failed') complain(raised, () => finish({ kind: 'out-of-memory' }));
    else finish(raised, sources.longMessage(outcome.message));
  },
  /** An exception that belongs to no execution any more. */
  complaint({ error }) {
    complain(sources.raised(error), () => {});
  },
  /** `process.exit` waits on the main thread for its end: that nothing after it runs is what makes it an exit. */
  leaving() {
    persuade(0);
  },
};

function settleDrain(turn) {
  Atomics.store(drained, 0, turn);
  Atomics.notify(drained, 0);
}

function sendDisplay(parts, members) {
  const index = displays++;
  parts.forEach(({ mediaType, data }, part) => {
    const bytes = Buffer.from(data.buffer ?? data, data.byteOffset ?? 0, data.byteLength);
    for (let start = 0; start === 0 || start < bytes.length; start += DISPLAY_PIECE_BYTES) {
      const piece = bytes.subarray(start, start + DISPLAY_PIECE_BYTES);
      const end = part === parts.length - 1 && start + DISPLAY_PIECE_BYTES >= bytes.length;
      send({ type: 'display', index, part, mediaType, end, ...members }, piece);
    }
  });
}

function interrupt() {
  if (!running) return;
  Atomics.store(cancelled, 0, 1);
  persuade(ANSWER_MS);
}

/**
 * Asks the main thread to give up what it awaits. If it does not answer, JavaScript runs there, and V8 ends that; then it is asked again, until
 * the end has come. Never before it was asked: V8 would keep the request, and end the next innocent callback.
 */
function persuade(patienceMs) {
  clearTimeout(persuasion);
  parentPort.postMessage({ kind: 'give-up' });
  persuasion = setTimeout(() => {
    debug.post('Runtime.terminateExecution', () => {});
    persuasion = setTimeout(() => persuade(ANSWER_MS), patienceMs === 0 ? 1 : AGAIN_MS);
    if (patienceMs === 0) parentPort.postMessage({ kind: 'give-up' });
  }, patienceMs);
}

function complain({ traceback }, then) {
  write(2, `${traceback.join('\n')}\n`, then);
}

/** At most as many bytes as a value may have, and no half character at the end. */
function bounded(bytes) {
  if (bytes.length <= MAX_VALUE_BYTES) return bytes;
  let end = MAX_VALUE_BYTES;
  while (end > 0 && (bytes[end] & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end);
}
