/**
 * Variables that tell programs about a proxy. `url`: the proxy's, with name and password if it requires them. Servers
 * that a command runs for itself on loopback bypass it.
 */
export function proxyEnvironment(url: string, env: Readonly<Record<string, string>>): Record<string, string> {
  const { hostname, port } = new URL(url);
  const java = ["http", "https"].map((kind) => `-D${kind}.proxyHost=${hostname} -D${kind}.proxyPort=${port}`);
  return {
    ...env,
    HTTP_PROXY: url,
    HTTPS_PROXY: url,
    ALL_PROXY: url,
    http_proxy: url,
    https_proxy: url,
    all_proxy: url,
    NO_PROXY: direct,
    no_proxy: direct,
    npm_config_proxy: url,
    npm_config_https_proxy: url,
    npm_config_noproxy: direct,
    YARN_HTTP_PROXY: url,
    YARN_HTTPS_PROXY: url,
    PIP_PROXY: url,
    CARGO_HTTP_PROXY: url,
    // Only then do Node's own fetch and http use the variables above.
    NODE_USE_ENV_PROXY: "1",
    JAVA_TOOL_OPTIONS: [env["JAVA_TOOL_OPTIONS"] ?? "", ...java].filter((part) => part !== "").join(" "),
  };
}

const direct = "localhost,127.0.0.1,::1";

const asidePrefix = "PALIMPSEST_SET_ASIDE_";

/**
 * Moves aside the variables by which a command tells its own Node what to load, print or write: they must not affect
 * the bridge.
 */
export const setNodeVariablesAside = (env: Readonly<Record<string, string>>): Record<string, string> =>
  renameVariables(env, (name) => (name.startsWith("NODE_") ? `${asidePrefix}${name}` : name));

export const restoreNodeVariables = (env: Readonly<Record<string, string>>): Record<string, string> =>
  renameVariables(env, (name) => (name.startsWith(asidePrefix) ? name.slice(asidePrefix.length) : name));

const renameVariables = (
  env: Readonly<Record<string, string>>,
  rename: (name: string) => string,
): Record<string, string> => Object.fromEntries(Object.entries(env).map(([name, value]) => [rename(name), value]));
