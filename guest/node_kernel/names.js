const { ownKeys } = Reflect;
const { create } = Object;
const MAX_NAMES = 100;

/** The names of the session's own variables: V8 keeps those of `let`, `const` and `class` apart from the global object. */
export function createNames() {
  const known = create(null);
  let globals = 0;

  /** Calls `found` with each name that was not there before. */
  const look = (session, found) => {
    const see = (name) => {
      if (typeof name !== 'string' || name in known) return;
      known[name] = true;
      found(name);
    };
    session.post('Runtime.globalLexicalScopeNames', (_error, answer) => {
      const names = answer?.names ?? [];
      for (let index = 0; index < names.length; index += 1) see(names[index]);
    });
    const keys = ownKeys(globalThis);
    if (keys.length === globals) return;
    globals = keys.length;
    for (let index = 0; index < keys.length; index += 1) see(keys[index]);
  };

  return {
    /** What Node and we have defined is nobody's. */
    begin: (session) => look(session, () => {}),
    /** Those that are new since the last time. */
    added(session) {
      const added = [];
      let count = 0;
      look(session, (name) => {
        if (count < MAX_NAMES) added[count] = name;
        count += 1;
      });
      return { names: added, omitted: count > MAX_NAMES ? count - MAX_NAMES : 0 };
    },
  };
}
