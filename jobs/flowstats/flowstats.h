#ifndef WEIR_JOBS_FLOWSTATS_FLOWSTATS_H
#define WEIR_JOBS_FLOWSTATS_FLOWSTATS_H

/*
 * Packets and bytes per conversation (one direction) and window of capture time: event time from
 * the data, a watermark per file, windows that it fires. job.window is a multiple of a second.
 * Lines: window-start,source,source-port,destination,destination-port,protocol,packets,bytes.
 */

#include <weir/job.h>

int weir_flowstats(struct weir_job *job, const struct weir_params *params);

#endif /* WEIR_JOBS_FLOWSTATS_FLOWSTATS_H */
