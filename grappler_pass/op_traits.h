// SPDX-License-Identifier: Apache-2.0
//
// What the importer must know of TensorFlow's ops beyond their OpDefs.
#ifndef SN_TF_GRAPPLER_PASS_OP_TRAITS_H_
#define SN_TF_GRAPPLER_PASS_OP_TRAITS_H_

#include <string>

#include "tensorflow/core/framework/node_def.pb.h"

namespace sn_tf {

// Outputs live outside the step: arguments, constants, variables' handles.
bool IsResidentSource(const tensorflow::NodeDef& node);

// Values that come from outside the step and may have unknown dimensions.
bool IsStepInput(const tensorflow::NodeDef& node);

// Reads a resource variable; the output shares the variable's memory.
bool IsVariableRead(const tensorflow::NodeDef& node);

// Writes a variable or other resource.
bool IsStateWrite(const tensorflow::NodeDef& node);

// Calls a function, of which nothing else is known.
bool CallsFunction(const tensorflow::NodeDef& node);

// Hands a value out of the function. Partitioning drops it, and what waits for
// it would not find it.
bool IsResult(const tensorflow::NodeDef& node);

// One of the primitives into which loops and conditionals are lowered, or a
// functional form of them.
bool IsControlFlow(const tensorflow::NodeDef& node);

// One of the primitives, but none for reference types.
bool IsLowered(const tensorflow::NodeDef& node);

// Computes its output such that it may stand in the place of an input, and puts
// it there where nothing else needs that. Elementwise ops, for the most part.
bool ReusesInput(const std::string& type);

// Running it twice gives the same bits and has no other effect: not stateful,
// no reference or resource among inputs and outputs, calls no function.
bool IsPure(const tensorflow::NodeDef& node);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_OP_TRAITS_H_
