/** What was profiled in this session. */

/** The part of a report that is used here; docs/profile.schema.json describes all of it. */
export interface Report {
  readonly path: string;
  readonly entry: string;
  readonly device: string;
  readonly device_name: string;
  readonly original: { readonly graphs: readonly unknown[] } | null;
  readonly mended: { readonly graphs: readonly unknown[] } | null;
  readonly failure: { readonly kind: string; readonly message: string } | null;
}

/** The result of the server's command, if it is a report. */
export function asReport(result: unknown): Report | undefined {
  if (typeof result !== "object" || result === null) return undefined;
  const report = result as Partial<Report>;
  return typeof report.entry === "string" && typeof report.path === "string" ? (report as Report) : undefined;
}

export class Results {
  private reports: Report[] = [];
  private readonly listeners = new Set<() => void>();

  /** Those that have numbers, the newest first, one an entry. */
  get all(): readonly Report[] {
    return this.reports;
  }

  get last(): Report | undefined {
    return this.reports[0];
  }

  add(report: Report): void {
    if (report.failure !== null || report.original === null) return;
    const same = (each: Report): boolean => each.path === report.path && each.entry === report.entry;
    this.reports = [report, ...this.reports.filter((each) => !same(each))];
    for (const listener of this.listeners) listener();
  }

  onDidChange(listener: () => void): { dispose(): void } {
    this.listeners.add(listener);
    return { dispose: () => this.listeners.delete(listener) };
  }
}

/** The graphs of a report in a few words: ``4 graphs -> 1``. */
export function graphs(report: Report): string {
  const before = report.original?.graphs.length ?? 0;
  const counted = `${before} ${before === 1 ? "graph" : "graphs"}`;
  return report.mended === null ? counted : `${counted} -> ${report.mended.graphs.length}`;
}

/** Where a report was measured. */
export function device(report: Report): string {
  if (report.device === "cuda") return report.device_name || "GPU";
  return report.device === "cpu" ? "CPU" : "";
}
