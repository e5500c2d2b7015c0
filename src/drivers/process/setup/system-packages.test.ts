import { describe, expect, it } from 'vitest';
import { installCommand, packageManagers, refreshCommand } from './system-packages.ts';

describe('the command that installs what is missing', () => {
  it('names only what is missing', () => {
    expect(installCommand('apk', { bubblewrap: true, venv: false })).toEqual(['apk', 'add', 'bubblewrap']);
    expect(installCommand('dnf', { bubblewrap: false, venv: true })).toEqual(['dnf', 'install', '-y', 'python3']);
  });

  it('asks for the module that Debian ships apart', () => {
    expect(installCommand('apt-get', { bubblewrap: true, venv: true })).toEqual(
      expect.arrayContaining(['bubblewrap', 'python3', 'python3-venv']),
    );
  });

  it.each(packageManagers)('by %s never waits for an answer', (manager) => {
    const command = installCommand(manager, { bubblewrap: true, venv: true }).join(' ');
    expect(command).toMatch(/ -y|--noconfirm|--non-interactive|^apk add/);
  });

  it('fetches package lists first where that is a step of its own', () => {
    expect(refreshCommand('apt-get')).toEqual(['apt-get', 'update']);
    expect(refreshCommand('pacman')).toBeUndefined();
  });
});
