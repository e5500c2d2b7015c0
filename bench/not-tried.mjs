/** Something that this machine cannot be measured for, which is no failure: the table says the reason. */
export class NotTried extends Error {
  name = 'NotTried';
}
