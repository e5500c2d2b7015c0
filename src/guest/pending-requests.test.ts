import { expect, test, vi } from 'vitest';
import { HotcellError } from '../errors/hotcell-error.ts';
import { nothing } from './messages.ts';
import { createPendingRequests } from './pending-requests.ts';

const LOST = new HotcellError('guest_misbehaved', 'the guest does not read its messages');

test('a request whose sending ends the connection rejects', async () => {
  const requests = createPendingRequests();
  await expect(requests.ask(nothing, () => requests.rejectAll(LOST))).rejects.toBe(LOST);
  const refused = vi.fn();
  requests.requestOnStream(() => requests.rejectAll(LOST), refused);
  expect(refused).toHaveBeenCalledWith(LOST);
});

test('a request that could not be sent rejects once, and is forgotten', async () => {
  const requests = createPendingRequests();
  const fail = () => {
    throw LOST;
  };
  await expect(requests.ask(nothing, fail)).rejects.toBe(LOST);
  const refused = vi.fn();
  requests.requestOnStream(fail, refused);
  requests.rejectAll(new HotcellError('session_closed', 'closed'));
  expect(refused.mock.calls).toEqual([[LOST]]);
});
