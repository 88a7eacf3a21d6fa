/** The process around a screen, as far as the terminal is concerned. */
export interface ScreenHost {
  /** Calls back until what it gives is called. */
  on(event: HostEvent, listener: () => void): () => void;
  /** Stops the process until it is continued, as Ctrl-Z does where nobody reads keys. */
  suspend(): void;
}

/** `crash`: an error that nobody caught is about to be printed. `exit`: the process ends, however. `gone`: nobody types any more. */
export type HostEvent = "continue" | "hangup" | "interrupt" | "terminate" | "crash" | "exit" | "gone";

export function processHost(host: NodeJS.Process): ScreenHost {
  return {
    suspend: () => {
      // A process that reads nothing and waits for nothing would end as soon as it goes on.
      const alive = setInterval(() => {}, aliveMillis);
      host.once("SIGCONT", () => clearInterval(alive));
      host.kill(wholeGroup, "SIGTSTP");
    },
    on: (event, listener) => (event === "gone" ? onGone(host, listener) : onNamed(host, nameByEvent[event], listener)),
  };
}

/** As the terminal does it: with whoever started the process and whatever it has started. */
const wholeGroup = 0;
/** Any will do: nothing happens then. */
const aliveMillis = 60_000;

function onNamed(host: NodeJS.EventEmitter, name: string, listener: () => void): () => void {
  host.on(name, listener);
  return () => void host.off(name, listener);
}

/** A terminal that is closed ends the input, or fails whoever writes to it. */
function onGone({ stdin, stdout }: NodeJS.Process, listener: () => void): () => void {
  const unlisten = [
    onNamed(stdin, "end", listener),
    onNamed(stdin, "error", listener),
    onNamed(stdout, "error", listener),
  ];
  return () => {
    for (const each of unlisten) each();
  };
}

const nameByEvent = {
  continue: "SIGCONT",
  hangup: "SIGHUP",
  // Of others: while keys are read one by one, Ctrl-C is none.
  interrupt: "SIGINT",
  terminate: "SIGTERM",
  crash: "uncaughtExceptionMonitor",
  exit: "exit",
} as const satisfies Record<Exclude<HostEvent, "gone">, string>;
