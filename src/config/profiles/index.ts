import type { ProfileName } from '../schema.ts';
import { codeSandboxSettings } from './code-sandbox.ts';
import type { ProfileSettings } from './define-settings.ts';

/** The settings of each profile. Our own tools have none beside the options of the server. */
export const PROFILE_SETTINGS: Readonly<Partial<Record<ProfileName, ProfileSettings>>> = {
  'code-sandbox': codeSandboxSettings as unknown as ProfileSettings,
};
