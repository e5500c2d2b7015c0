/** The harness failed, not the command it ran. `seen` is what the machine or the tool printed last. */
export class VmFailure extends Error {
  constructor(message, seen = '', exitCode = 1) {
    super(message);
    this.seen = seen;
    this.exitCode = exitCode;
  }
}

/** This host lacks what it takes: says which programs, and the one command that brings them. */
export class CannotRun extends VmFailure {
  constructor(missing) {
    super(
      `${missing.join(', ')} not found. Install with: ` +
        'apt-get install -y --no-install-recommends qemu-system-x86 mmdebstrap e2fsprogs debian-archive-keyring',
      '',
      2,
    );
  }
}
