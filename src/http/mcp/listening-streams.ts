/** Responses to `subscriptions/listen`: notification streams that stay open until the client disconnects. */
export interface ListeningStreams {
  /** Wraps a response, so that it can be closed here. It may replace an older one. */
  hold(owner: string, response: Response): Response;
  count(owner?: string): number;
  /** Ends all streams of an owner. */
  closeOf(owner: string): void;
}

export interface ListeningLimits {
  /** The maximum per owner. Another one replaces the oldest. */
  readonly perOwner: number;
  /** The total maximum. Another one replaces the oldest of the owner with the most. */
  readonly total: number;
}

interface Stream {
  readonly owner: string;
  end(): void;
}

/**
 * SECURITY: nothing else ends such a stream. Without limits one owner could use up all connections of a server, and a
 * revoked token would keep its streams.
 */
export function createListeningStreams({ perOwner, total }: ListeningLimits): ListeningStreams {
  /** Oldest first. */
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
      start: (own) => {
        controller = own;
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
