const mark = "PALIMPSEST_SET_ASIDE_";

/** Variables by which a command tells its own Node what to load, to print or to write: the bridge's is not meant. */
export const putAside = (env: Readonly<Record<string, string>>): Record<string, string> =>
  renamed(env, (name) => (name.startsWith("NODE_") ? `${mark}${name}` : name));

export const takeBack = (env: Readonly<Record<string, string>>): Record<string, string> =>
  renamed(env, (name) => (name.startsWith(mark) ? name.slice(mark.length) : name));

const renamed = (env: Readonly<Record<string, string>>, rename: (name: string) => string): Record<string, string> =>
  Object.fromEntries(Object.entries(env).map(([name, value]) => [rename(name), value]));
