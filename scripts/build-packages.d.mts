interface Lock {
  readonly packages: Readonly<Record<string, object>>;
}

export function buildPackages(manifest: object, lock: object): { readonly manifest: object; readonly lock: Lock };
