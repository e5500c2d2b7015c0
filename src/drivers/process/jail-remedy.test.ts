import { describe, expect, it } from 'vitest';
import { jailFailure } from './jail-process.ts';

describe('the error of a jail that did not start', () => {
  it.each([
    ['AppArmor on Ubuntu', 'bwrap: setting up uid map: Permission denied', 'apparmor_restrict_unprivileged_userns'],
    [
      'a kernel without unprivileged namespaces',
      'bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.',
      'unprivileged_userns_clone',
    ],
    ['a container', 'bwrap: Creating new namespace failed: Operation not permitted', 'unprivileged_userns_clone'],
    [
      'a limit of namespaces',
      'bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)',
      'user.max_user_namespaces',
    ],
  ])('names the setting to change: %s', (_case, said, setting) => {
    expect(jailFailure(`the jail did not start: ${said}`).remedy).toContain(setting);
  });

  it('sends the reader to the doctor where it knows no better', () => {
    expect(jailFailure('the zygote ended: exit code 1').remedy).toContain('hotcell doctor');
  });
});
