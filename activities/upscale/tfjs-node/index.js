const core = require('@tensorflow/tfjs-core');
const layers = require('@tensorflow/tfjs-layers');

// Only the package @tensorflow/tfjs defines operations as methods of tensors. UpscalerJS calls these.
for (const name of ['clipByValue', 'expandDims', 'mul', 'slice', 'squeeze'])
  core.Tensor.prototype[name] = function operation(...options) {
    return core[name](this, ...options);
  };

module.exports = { ...core, ...layers };
