#ifndef WEIR_WEIR_H
#define WEIR_WEIR_H

/* All of the public interface. */

#include <weir/connector.h>
#include <weir/job.h>
#include <weir/operator.h>
#include <weir/operator_state.h>
#include <weir/sink.h>
#include <weir/sources.h>
#include <weir/state.h>
#include <weir/type.h>

#endif /* WEIR_WEIR_H */
