/** Answers of `subscriptions/listen`: streams that stay open until the client goes. */
export interface ListeningStreams {
  /** The same answer, which ends when it is closed here. It may take the place of an older one. */
  hold(owner: string, response: Response): Response;
  count(owner?: string): number;
  /** Ends all of an owner's. */
  closeOf(owner: string): void;
}

export interface ListeningLimits {
  /** The most of one owner. One more takes the place of the oldest. */
  readonly perOwner: number;
  /** The most of all. One more takes the place of the oldest of the owner who has the most. */
  readonly total: number;
}

interface Stream {
  readonly owner: string;
  end(): void;
}

/** SECURITY: nothing else ends such a stream. Without limits one owner could hold all that a server has, and a token that was revoked would keep its own. */
export function createListeningStreams({ perOwner, total }: ListeningLimits): ListeningStreams {
  /** The oldest first. */
  const streams = new Set<Stream>();
  const of = (owner: string) => [...streams].filter((stream) => stream.owner === owner);

  function makeRoom(owner: string): void {
    if (of(owner).length >= perOwner) of(owner)[0]?.end();
    else if (streams.size >= total) of(largestHolder())[0]?.end();
  }

  function largestHolder(): string {
    const counts = new Map<string, number>();
    for (const stream of streams) counts.set(stream.owner, (counts.get(stream.owner) ?? 0) + 1);
    return [...counts].reduce((most, one) => (one[1] > most[1] ? one : most), ['', 0] as [string, number])[0];
  }

  function hold(owner: string, response: Response): Response {
    if (response.body === null) return response;
    makeRoom(owner);
    const reader = response.body.getReader();
    let controller: ReadableStreamDefaultController<Uint8Array>;
    const leave = () => streams.delete(stream);
    const stream: Stream = {
      owner,
      end: () => {
        if (!leave()) return;
        controller.close();
        reader.cancel().catch(() => {});
      },
    };
    const body = new ReadableStream<Uint8Array>({
      start: (its) => {
        controller = its;
      },
      pull: async () => {
        const { value, done } = await reader.read();
        if (!streams.has(stream)) return; // it was ended meanwhile
        if (value !== undefined) controller.enqueue(value);
        if (done && leave()) controller.close();
      },
      cancel: async (reason) => {
        leave();
        await reader.cancel(reason);
      },
    });
    streams.add(stream);
    return new Response(body, { status: response.status, headers: response.headers });
  }

  return {
    hold,
    count: (owner) => (owner === undefined ? streams.size : of(owner).length),
    closeOf: (owner) => {
      for (const stream of of(owner)) stream.end();
    },
  };
}
