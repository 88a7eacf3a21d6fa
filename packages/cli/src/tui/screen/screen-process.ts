/** The process around a screen, as far as the terminal is concerned. */
export interface ScreenProcess {
  /** Calls back until what it gives is called. */
  on(event: ProcessEvent, listener: () => void): () => void;
  /** Stops the process until it is continued, as Ctrl-Z does where nobody reads keys. */
  suspend(): void;
}

/** `crash`: an error that nobody caught is about to be printed. `exit`: the process ends, however. `gone`: nobody types any more. */
export type ProcessEvent = "continue" | "hangup" | "interrupt" | "terminate" | "crash" | "exit" | "gone";

export function createScreenProcess(host: NodeJS.Process): ScreenProcess {
  return {
    suspend: () => {
      // A process that reads nothing and waits for nothing would end as soon as it goes on.
      const alive = setInterval(() => {}, aliveMillis);
      host.once("SIGCONT", () => clearInterval(alive));
      host.kill(wholeGroup, "SIGTSTP");
    },
    on: (event, listener) =>
      event === "gone" ? listenForGone(host, listener) : listenTo(host, nameByEvent[event], listener),
  };
}

/** As the terminal does it: with whoever started the process and whatever it has started. */
const wholeGroup = 0;
/** Any will do: nothing happens then. */
const aliveMillis = 60_000;

function listenTo(host: NodeJS.EventEmitter, name: string, listener: () => void): () => void {
  host.on(name, listener);
  return () => void host.off(name, listener);
}

/** A terminal that is closed ends the input, or fails whoever writes to it. */
function listenForGone({ stdin, stdout }: NodeJS.Process, listener: () => void): () => void {
  const unlisten = [
    listenTo(stdin, "end", listener),
    listenTo(stdin, "error", listener),
    listenTo(stdout, "error", listener),
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
} as const satisfies Record<Exclude<ProcessEvent, "gone">, string>;
