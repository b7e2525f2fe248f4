// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// passes.cpp - LLVMRunPasses for the small LLVM of the package fusec-llvm.
//
// LLVM's own has every pass by name, and so all of them are linked: 27 MB more. fusec asks for the
// three below (runtime/compile/llvm_compile.c), alone or with commas between them in one
// "function(...)"; whatever else is asked for is an error that says so.

#include <llvm-c/Error.h>
#include <llvm-c/TargetMachine.h>
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/BasicAliasAnalysis.h>
#include <llvm/Analysis/BlockFrequencyInfo.h>
#include <llvm/Analysis/BranchProbabilityInfo.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/MemorySSA.h>
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/Analysis/ProfileSummaryInfo.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

using namespace llvm;

namespace {

// Adds the pass of that name; false: there is none.
bool add(FunctionPassManager &passes, StringRef name) {
    if (name == "early-cse")
        passes.addPass(EarlyCSEPass());
    else if (name == "instcombine<no-verify-fixpoint>" || name == "instcombine")
        passes.addPass(InstCombinePass(InstCombineOptions().setVerifyFixpoint(false)));
    else if (name == "simplifycfg")
        passes.addPass(SimplifyCFGPass());
    else
        return false;
    return true;
}

// What the passes ask about a function; analyses of loops, modules and call graphs are not needed.
struct Analyses {
    FunctionAnalysisManager functions;
    ModuleAnalysisManager modules;

    explicit Analyses(TargetMachine *machine) {
        functions.registerPass([] { return PassInstrumentationAnalysis(); });
        functions.registerPass([] { return AssumptionAnalysis(); });
        functions.registerPass([] { return BasicAA(); });
        functions.registerPass([] {
            AAManager aliases;
            aliases.registerFunctionAnalysis<BasicAA>();
            return aliases;
        });
        functions.registerPass([] { return DominatorTreeAnalysis(); });
        functions.registerPass([] { return PostDominatorTreeAnalysis(); });
        functions.registerPass([] { return LoopAnalysis(); });
        functions.registerPass([] { return MemorySSAAnalysis(); });
        functions.registerPass([] { return BlockFrequencyAnalysis(); });
        functions.registerPass([] { return BranchProbabilityAnalysis(); });
        functions.registerPass([] { return OptimizationRemarkEmitterAnalysis(); });
        functions.registerPass([] { return TargetLibraryAnalysis(); });
        functions.registerPass([machine] { return machine->getTargetIRAnalysis(); });
        functions.registerPass([this] { return ModuleAnalysisManagerFunctionProxy(modules); });
        modules.registerPass([] { return PassInstrumentationAnalysis(); });
        modules.registerPass([] { return ProfileSummaryAnalysis(); });
        modules.registerPass([this] { return FunctionAnalysisManagerModuleProxy(functions); });
    }
};

} // namespace

#define EXPORT __attribute__((visibility("default")))

extern "C" {

EXPORT LLVMErrorRef LLVMRunPasses(LLVMModuleRef module, const char *text, LLVMTargetMachineRef machine, void *) {
    StringRef all(text);
    FunctionPassManager passes;
    bool known = all.consume_front("function(") && all.consume_back(")");
    while (known && !all.empty()) {
        const auto [name, rest] = all.split(',');
        known = add(passes, name);
        all = rest;
    }
    if (!known) return LLVMCreateStringError("this small LLVM does not have these passes");
    Analyses a(reinterpret_cast<TargetMachine *>(machine));
    for (Function &f : *unwrap(module))
        if (!f.isDeclaration()) passes.run(f, a.functions);
    return nullptr;
}

EXPORT void *LLVMCreatePassBuilderOptions(void) { return nullptr; }
EXPORT void LLVMDisposePassBuilderOptions(void *) {}

} // extern "C"
