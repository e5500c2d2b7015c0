export function guestManifest(folder: string): {
  readonly digest: string;
  readonly builtAtMs: number;
  readonly files: readonly (readonly [path: string, sizeBytes: number])[];
};
