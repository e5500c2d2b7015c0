import { expect, test, vi } from 'vitest';
import { HotcellError } from '../errors/hotcell-error.ts';
import { nothing } from './messages.ts';
import { createPendingRequests } from './pending-requests.ts';

const LOST = new HotcellError('guest_misbehaved', 'the guest does not read its messages');

test('a request with which the connection ends is told so, and does not wait for ever', async () => {
  const requests = createPendingRequests();
  await expect(requests.ask(nothing, () => requests.rejectAll(LOST))).rejects.toBe(LOST);
  const refused = vi.fn();
  requests.order(() => requests.rejectAll(LOST), refused);
  expect(refused).toHaveBeenCalledWith(LOST);
});

test('one that could not be sent is told so once, and waits for nothing', async () => {
  const requests = createPendingRequests();
  const fail = () => {
    throw LOST;
  };
  await expect(requests.ask(nothing, fail)).rejects.toBe(LOST);
  const refused = vi.fn();
  requests.order(fail, refused);
  requests.rejectAll(new HotcellError('session_closed', 'closed'));
  expect(refused.mock.calls).toEqual([[LOST]]);
});
