import type { Sandbox, SandboxNetwork } from "palimpsest/internal/ports/sandbox";
import type { Net } from "../../web/get.ts";
import type { NetworkCommand, SessionHosts } from "./hosts.ts";
import { openOnLoopback, openOnPipes } from "./listen.ts";
import type { OpenProxy } from "./listen.ts";

export interface SessionNetworkDeps {
  readonly net: Net;
  readonly hosts: SessionHosts;
}

/** How one command gets to the network: by a proxy that is opened when it starts, and closed when it has ended. */
export interface CommandNetwork {
  /** Must not reject. */
  open(system: Sandbox["system"]): Promise<NetworkOpened>;
  /** One line for each host that was refused, for the model. */
  notes(): readonly string[];
}

export type NetworkOpened =
  | { readonly kind: "open"; readonly network: SandboxNetwork; readonly close: () => Promise<void> }
  | { readonly kind: "failed"; readonly why: string };

export function commandNetwork({ net, hosts }: SessionNetworkDeps, command: NetworkCommand): CommandNetwork {
  let proxy: OpenProxy | undefined;
  const opened = (open: OpenProxy, network: SandboxNetwork): NetworkOpened => {
    proxy = open;
    return { kind: "open", network, close: () => open.close() };
  };
  return {
    open: async (system) => {
      const deps = { net, hosts: hosts.forCommand(command) };
      if (system === "bubblewrap") {
        const made = await openOnPipes(deps);
        if (made.kind === "failed") return made;
        return opened(made.proxy, { kind: "proxy", way: { kind: "pipes", folder: made.folder } });
      }
      const made = await openOnLoopback(deps);
      if (made.kind === "failed") return made;
      return opened(made.proxy, { kind: "proxy", way: { kind: "loopback", port: made.port, url: made.url } });
    },
    notes: () => proxy?.refusals().map(({ host, why }) => `no connection to ${host}: ${why}`) ?? [],
  };
}
