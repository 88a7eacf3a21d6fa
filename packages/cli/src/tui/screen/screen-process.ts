/** What a screen needs of its process. */
export interface ScreenProcess {
  /** Returns a function that removes the listener. */
  on(event: ProcessEvent, listener: () => void): () => void;
  /** Stops the process until it is continued, as Ctrl-Z does outside raw mode. */
  suspend(): void;
}

/** `crash`: an uncaught error is about to be printed. `exit`: the process ends, for whatever reason. `gone`: the terminal was closed. */
export type ProcessEvent = "continue" | "hangup" | "interrupt" | "terminate" | "crash" | "exit" | "gone";

export function createScreenProcess(host: NodeJS.Process): ScreenProcess {
  return {
    suspend: () => {
      // Without input and timers, the process would end as soon as it is continued.
      const alive = setInterval(() => {}, aliveMillis);
      host.once("SIGCONT", () => clearInterval(alive));
      host.kill(wholeGroup, "SIGTSTP");
    },
    on: (event, listener) =>
      event === "gone" ? listenForGone(host, listener) : listenTo(host, nameByEvent[event], listener),
  };
}

/** Signals the whole process group, as the terminal does: the parent and the child processes too. */
const wholeGroup = 0;
/** The value does not matter: the timer does nothing. */
const aliveMillis = 60_000;

function listenTo(host: NodeJS.EventEmitter, name: string, listener: () => void): () => void {
  host.on(name, listener);
  return () => void host.off(name, listener);
}

/** If the terminal is closed, the input ends or a write fails. */
function listenForGone({ stdin, stdout }: NodeJS.Process, listener: () => void): () => void {
  const unlisten = [
    listenTo(stdin, "end", listener),
    listenTo(stdin, "error", listener),
    listenTo(stdout, "error", listener),
  ];
  return () => {
    for (const remove of unlisten) remove();
  };
}

const nameByEvent = {
  continue: "SIGCONT",
  hangup: "SIGHUP",
  // Sent by other processes: in raw mode Ctrl-C is a key and no signal.
  interrupt: "SIGINT",
  terminate: "SIGTERM",
  crash: "uncaughtExceptionMonitor",
  exit: "exit",
} as const satisfies Record<Exclude<ProcessEvent, "gone">, string>;
