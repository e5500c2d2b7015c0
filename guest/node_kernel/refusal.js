/** Why a question has no answer: a code of docs/guest-protocol.md, and what to tell. */
export class Refusal extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}
