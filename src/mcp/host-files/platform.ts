import { type PlatformPath, posix, win32 } from 'node:path';

/** What differs between the machines that files are copied from. */
export interface HostPlatform {
  readonly paths: PlatformPath;
  /**
   * SECURITY: keys, tokens and histories of nearly every program lie in such files and folders of the home folder, more of them than a list could name.
   */
  isPrivate(name: string): boolean;
}

export function hostPlatform(platform: NodeJS.Platform = process.platform): HostPlatform {
  const own = OWN[platform];
  return {
    paths: platform === 'win32' ? win32 : posix,
    isPrivate: (name) => name.startsWith('.') || own?.test(name) === true,
  };
}

/** Beside those that begin with a dot. */
const OWN: Partial<Record<NodeJS.Platform, RegExp>> = {
  darwin: /^library$/i,
  win32: /^(appdata|application data|local settings|cookies|ntuser.*)$/i,
};
