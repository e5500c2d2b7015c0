/** A measurement that is impossible on this machine. It is not a failure: the table shows the reason. */
export class NotTried extends Error {
  name = 'NotTried';
}
