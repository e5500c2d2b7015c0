import { expect, test } from 'vitest';
import { GuestRefusal } from '../guest/pending-requests.ts';
import { deferred } from '../lib/deferred.ts';
import { controlCommand } from './command-control.ts';

/** A guest that keeps what it was sent. `credit` holds input back while it is not resolved. */
function guestWith(credit: Promise<void> = Promise.resolve(), refusal?: Error) {
  const heard: unknown[] = [];
  const connection = {
    request: async (head: unknown) => {
      heard.push(head);
      if (refusal !== undefined) throw refusal;
      return { result: {}, body: Buffer.alloc(0) };
    },
  };
  const stream = {
    send: async ({ end }: { end?: unknown }, body: Buffer) => {
      await credit;
      heard.push(end === true ? 'end' : body.length);
    },
  };
  return { heard, link: { connection, stream } as never };
}

const whole = { hasInput: true, hasTerminal: true };

test('input is sent in order and in pieces, and what came before the command began waits for it', async () => {
  const { control, begun } = controlCommand(() => 'x-1', whole);
  const sent = [control.write(Buffer.alloc(150_000)), control.write(Buffer.alloc(3)), control.endInput()];
  const { heard, link } = guestWith();
  expect(heard).toEqual([]);
  begun(link);
  await Promise.all(sent);
  expect(heard).toEqual([65_536, 65_536, 18_928, 3, 'end']);
});

test('a write resolves when its data is on its way, and no earlier', async () => {
  const credit = deferred<void>();
  const { control, begun } = controlCommand(() => 'x-1', whole);
  begun(guestWith(credit.promise).link);
  let isSent = false;
  const writing = control.write(Buffer.alloc(1)).then(() => {
    isSent = true;
  });
  await new Promise(setImmediate);
  expect(isSent).toBe(false);
  credit.resolve();
  await writing;
});

test('nothing has an effect once the command has ended, and waiting calls resolve', async () => {
  const { control, begun, ended } = controlCommand(() => 'x-1', whole);
  const waiting = [control.write(Buffer.alloc(1)), control.kill('SIGTERM'), control.resize({ columns: 1, rows: 1 })];
  ended();
  const { heard, link } = guestWith();
  begun(link);
  await Promise.all(waiting);
  await control.endInput();
  expect(heard).toEqual([]);
});

test('input that can no longer be sent is no error: the result says how the command ended', async () => {
  const { control, begun } = controlCommand(() => 'x-1', whole);
  begun(guestWith(Promise.reject(new Error('the stream was released'))).link);
  await control.write(Buffer.alloc(1));
});

test('a signal and a size are checked, and a refusal by the guest becomes a HotcellError', async () => {
  const { control, begun } = controlCommand(() => 'x-1', whole);
  const { heard, link } = guestWith(undefined, new GuestRefusal('busy', 'signal: not now'));
  begun(link);
  await expect(control.kill('SIGSEGV' as never)).rejects.toMatchObject({ code: 'invalid_argument' });
  await expect(control.resize({ columns: 0, rows: 1 })).rejects.toMatchObject({ code: 'invalid_argument' });
  expect(heard).toEqual([]);
  await expect(control.kill('SIGTERM')).rejects.toMatchObject({ code: 'session_busy' });
  expect(heard).toEqual([{ type: 'signal', signal: 'SIGTERM', execution: 'x-1' }]);
});

test('a command without input or terminal says so', async () => {
  const { control } = controlCommand(() => 'x-1', { hasInput: false, hasTerminal: false });
  for (const refused of [control.write(Buffer.alloc(1)), control.endInput(), control.resize({ columns: 1, rows: 1 })])
    await expect(refused).rejects.toMatchObject({ code: 'invalid_argument' });
});
